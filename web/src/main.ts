import { mount } from "svelte";
import App from "./App.svelte";
import { takeLoginFromAddress } from "./credentials";
import "./app.css";

takeLoginFromAddress();
const target = document.getElementById("app");
if (target) mount(App, { target });

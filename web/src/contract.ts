// What the daemon takes and answers on each path, read out of the types that are generated from its document.

import type { components, paths } from "./openapi";

export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

export type Method = "get" | "post" | "put" | "patch" | "delete";

/** Paths that know a method. */
export type Path<M extends Method = Method> = {
  [P in keyof paths]: paths[P][M] extends object ? P : never;
}[keyof paths];

type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;

type Json<Message> = Message extends { content: { "application/json": infer Body } } ? Body : never;

/** What comes when all went well. */
export type Answer<P extends Path<M>, M extends Method = "get"> =
  Operation<P, M> extends { responses: infer All }
    ? { [Status in keyof All & (200 | 201 | 202)]: Json<All[Status]> }[keyof All & (200 | 201 | 202)]
    : never;

/** What is sent along; undefined where nothing needs to be. */
export type Body<P extends Path<M>, M extends Method> =
  Operation<P, M> extends { requestBody: infer Asked }
    ? Json<Asked>
    : Operation<P, M> extends { requestBody?: infer Asked }
      ? [Asked] extends [never]
        ? undefined
        : Json<NonNullable<Asked>> | undefined
      : undefined;

type Known<Fields> = [NonNullable<Fields>] extends [never] ? object : NonNullable<Fields>;

/** What stands in the path and after it; null is as good as nothing. */
export type Fields<P extends Path<M>, M extends Method> =
  Operation<P, M> extends { parameters: { path?: infer InPath; query?: infer InQuery } }
    ? Known<InPath> & { [Name in keyof Known<InQuery>]: Known<InQuery>[Name] | null }
    : object;

/** They can be left out when none is needed. */
export type Given<P extends Path<M>, M extends Method> =
  object extends Fields<P, M> ? [fields?: Fields<P, M>] : [fields: Fields<P, M>];

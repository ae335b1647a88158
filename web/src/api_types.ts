// Types of the HTTP API by path and method, taken from the file generated from the OpenAPI document.

import type { paths } from "./openapi";

export type Method = "get" | "post" | "put" | "patch" | "delete";

/** Paths that have the method. */
export type Path<M extends Method = Method> = {
  [P in keyof paths]: paths[P][M] extends object ? P : never;
}[keyof paths];

type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;

type JsonOf<Content> = Content extends { content: { "application/json": infer Json } } ? Json : never;

/** The JSON of a successful response. */
export type ResponseBody<P extends Path<M>, M extends Method = "get"> =
  Operation<P, M> extends { responses: infer All }
    ? { [Status in keyof All & (200 | 201 | 202)]: JsonOf<All[Status]> }[keyof All & (200 | 201 | 202)]
    : never;

/** The JSON of the request; undefined if there is none. */
export type RequestBody<P extends Path<M>, M extends Method> =
  Operation<P, M> extends { requestBody: infer Given }
    ? JsonOf<Given>
    : Operation<P, M> extends { requestBody?: infer Given }
      ? [Given] extends [never]
        ? undefined
        : JsonOf<NonNullable<Given>> | undefined
      : undefined;

type OrEmpty<Fields> = [NonNullable<Fields>] extends [never] ? object : NonNullable<Fields>;

/** Path and query parameters; null is left out of the request. */
export type Params<P extends Path<M>, M extends Method> =
  Operation<P, M> extends { parameters: { path?: infer InPath; query?: infer InQuery } }
    ? OrEmpty<InPath> & { [Name in keyof OrEmpty<InQuery>]: OrEmpty<InQuery>[Name] | null }
    : object;

/** Optional when no parameter is required. */
export type ParamsArgument<P extends Path<M>, M extends Method> =
  object extends Params<P, M> ? [params?: Params<P, M>] : [params: Params<P, M>];

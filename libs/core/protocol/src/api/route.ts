import type { z } from 'zod';

/**
 * A route of the fleet's own API. `serve` of libs/core/service serves it and the client of libs/core/net calls it, so that
 * both have its address and its answer from here. A field that is added later is optional: an older service does not
 * answer it.
 */
export interface Route<P extends string = string, S extends z.ZodType = z.ZodType> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `:id` stands for a parameter. */
  readonly path: P;
  readonly answer: S;
}

/** A method of JSON-RPC with the schema of its result. */
export interface RpcMethod<S extends z.ZodType = z.ZodType> {
  readonly method: string;
  readonly answer: S;
}

type Fixed<T> = T extends readonly (infer E)[]
  ? readonly Fixed<E>[]
  : T extends object
    ? { readonly [K in keyof T]: Fixed<T[K]> }
    : T;

/** What a service answers, by the route, the method or the schema. */
export type Answer<R> = Fixed<R extends { answer: z.ZodType } ? z.output<R['answer']> : z.output<R>>;

/** The parameters in the path of a route. */
export type Params<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [K in Name]: string } & Params<Rest>
  : P extends `${string}:${infer Name}`
    ? { readonly [K in Name]: string }
    : unknown;

const route =
  (method: Route['method']) =>
  <P extends string, S extends z.ZodType>(path: P, answer: S): Route<P, S> => ({ method, path, answer });

export const get = route('GET');
export const post = route('POST');
export const del = route('DELETE');

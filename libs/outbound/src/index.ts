export { isInternalAddress } from './address.ts';
export { type Address, parseDestination, type Resolve } from './destination.ts';
export { type Fetched, type GuardedFetchOptions, guardedFetch } from './guarded-fetch.ts';

export { isInternalAddress } from './address.ts';
export { type Address, type DestinationRules, parseDestination, type Resolve } from './destination.ts';
export { checkDestination, type Fetched, type GuardedFetchOptions, guardedFetch } from './guarded-fetch.ts';

export { isInternalAddress } from './address.ts';
export {
  type Address,
  addressesOf,
  type DestinationRules,
  parseDestination,
  type Resolve,
} from './destination.ts';
export { checkDestination, type Fetched, type GuardedFetchOptions, guardedFetch } from './guarded-fetch.ts';
export { pinnedLookup } from './pinned-request.ts';

export { createClient } from './client.ts';
export { isClientHeader, type TlsFetch } from './configured-fetch.ts';
export {
  type Address,
  addressesOf,
  type DestinationRules,
  namesPort,
  parseDestination,
  portOf,
  type Resolve,
} from './destination.ts';
export { checkDestination } from './guarded-fetch.ts';
export { readBounded } from './read-bounded.ts';
export { RedirectError } from './redirect.ts';
export { pinnedLookup } from './send-request.ts';
export { createTextExchange, type TextAnswer, type TextExchange } from './text-exchange.ts';

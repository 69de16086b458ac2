export { isInternalAddress } from './address.ts';

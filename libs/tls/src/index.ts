export {
  EXPIRY_WARNING_DAYS,
  namesOf,
  parseCertificates,
  readTls,
  type TlsCheck,
  type TlsFileKey,
  type TlsFiles,
  type TlsMaterial,
  type TlsProblem,
  type TlsReading,
} from './certificates.ts';
export { type TlsKeys, tlsFault } from './faults.ts';
export {
  agentFor,
  clientOptions,
  createTlsFetch,
  MIN_TLS_VERSION,
  type TlsFetch,
  type TlsSource,
} from './https.ts';
export { LOOK_EVERY_MS, type WatchedTls, type WatchTlsOptions, watchTls } from './watched.ts';

export {
  type CertificateTimes,
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
export { type TlsFault, type TlsKeys, tlsFault } from './faults.ts';
export {
  agentFor,
  clientOptions,
  createTlsFetch,
  MIN_TLS_VERSION,
  speaksTls,
  type TlsFetch,
} from './https.ts';
export { createRenewedTls, type RenewedTlsOptions, type TlsSource } from './renewed.ts';
export { fetchUnverified } from './unverified.ts';

export {
  type CertificateTimes,
  namesOf,
  parseCertificates,
  readTls,
  type TlsFiles,
  type TlsMaterial,
  type TlsProblem,
} from './certificates.ts';
export { ClientTlsSchema, clientOptions, MIN_TLS_VERSION, speaksTls } from './client-options.ts';
export { connectionFault, connectionRefusal, type TlsFault, type TlsKeys, tlsFault } from './faults.ts';
export { createRenewedTls, type RenewedTlsOptions, type TlsSource } from './renewed.ts';

export {
  createAuthority,
  EXPIRED,
  NOT_YET_VALID,
  type TestAuthority,
  type TestCertificate,
} from './certificates.ts';

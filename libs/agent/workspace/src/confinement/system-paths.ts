/** Every command may read programs, libraries, certificates and name look-up, but no home, no state and no /run. */
export const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

export const SETTINGS = [
  '/etc/alternatives',
  '/etc/ca-certificates',
  '/etc/chromium.d',
  '/etc/fonts',
  '/etc/group',
  '/etc/hosts',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/localtime',
  '/etc/nsswitch.conf',
  '/etc/passwd',
  '/etc/resolv.conf',
  '/etc/services',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
];

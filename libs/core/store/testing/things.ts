/** The schema of a store with rows of any size. */
export const THINGS = {
  name: 'things',
  applicationId: 0x7468,
  migrations: [
    'CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) STRICT; CREATE TABLE things (n INTEGER PRIMARY KEY, b BLOB) STRICT',
  ],
};

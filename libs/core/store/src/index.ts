export { type Connections, openConnections } from './database.ts';
export { resultCode, SQLITE } from './errors.ts';
export { type StoreSchema, versionOf } from './migrate.ts';
export { acquireOwnership } from './ownership.ts';
export { numberOf, type Queries } from './queries.ts';
export { openReader, type Reader } from './reader.ts';
export {
  type Columns,
  flag,
  integer,
  integerOrNull,
  json,
  oneOf,
  type Row,
  rowReader,
  text,
  textOrNull,
} from './row.ts';
export { createStore, openStore, type Store, type StoreOptions } from './store.ts';
export { createWakeups, type Wait, type Wakeups } from './wakeups.ts';

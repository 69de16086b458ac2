export type { Connections, Queries } from './database.ts';
export { openConnections } from './database.ts';
export { migrate, type StoreSchema } from './migrate.ts';
export { acquireOwnership } from './ownership.ts';
export { integer, json, oneOf, type Row, text } from './row.ts';
export { createStore, openStore, type Store, type StoreOptions } from './store.ts';
export { createWakeups, type Wait, type Wakeups } from './wakeups.ts';

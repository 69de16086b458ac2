export type { ControlStore } from './control/control-store.ts';
export { openControlStore } from './store/sqlite-store.ts';

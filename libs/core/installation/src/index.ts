export {
  ASSETS,
  type Asset,
  asset,
  checkout,
  folder,
  PROGRAMS,
  type Program,
  program,
  readByCommands,
  version,
} from './installation.ts';

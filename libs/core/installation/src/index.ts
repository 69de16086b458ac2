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
  revision,
  version,
} from './installation.ts';

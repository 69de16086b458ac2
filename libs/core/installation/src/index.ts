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
export { packagesFolder, TESTED_PACKAGES } from './optional-packages.ts';

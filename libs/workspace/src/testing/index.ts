export { closedToOthers, nodeForOthers } from './other-users.ts';
export { cannotConfine, makePlace, mayChangeUsers, type Place, quietLog, SECRET } from './place.ts';
export { tempDir } from './temp-dir.ts';

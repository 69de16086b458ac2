export { closedToOthers, nodeForOthers } from './other-users.ts';
export { cannotConfine, makePlace, mayChangeUsers, type Place, SECRET } from './place.ts';

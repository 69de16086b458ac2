export { closingOf } from './closing.ts';
export { findHandshake } from './find-handshake.ts';
export { parseHints } from './hints.ts';
export { renderDispatchText } from './render.ts';

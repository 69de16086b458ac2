export { findHandshake } from './find-handshake.ts';
export { parseHints } from './parse-hints.ts';
export { renderDispatchText } from './render-dispatch.ts';
export { reportInstructions } from './report-instructions.ts';

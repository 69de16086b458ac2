export { type Dialogue, isWaiting } from './dialogue.ts';
export { createLink, declined, type Link, neverArrived, peerError } from './link.ts';
export {
  ASK_TIMEOUT_MS,
  type Following,
  LONGEST_ANSWER_MS,
  lookFor,
  PAUSE,
  type ProseOptions,
} from './prose-exchange.ts';
export { followTask } from './prose-follow.ts';
export { createRelay } from './relay.ts';

export {
  createPeerContact,
  isDeclined,
  neverArrived,
  type PeerContact,
  peerError,
} from './delegation/peer-contact.ts';
export { isWaitingForCaller } from './delegation/question-exchange.ts';
export { createGivenUpTasks } from './given-up.ts';
export { homeOf } from './home.ts';
export { followTask } from './prose/follow-task.ts';
export {
  answerTimeoutMs,
  type FollowOptions,
  findTaskOf,
  QUERY_TIMEOUT_MS,
  RETRY_BACKOFF,
} from './prose/send-once.ts';
export { createRelay } from './relay.ts';
export { peerWithTask } from './relay-state.ts';
export { relaySettings } from './settings.ts';

export {
  createPeerContact,
  isDeclined,
  neverArrived,
  type PeerContact,
  peerError,
  QUERY_TIMEOUT_MS,
  RETRY_BACKOFF,
} from './delegation/peer-contact.ts';
export { isWaitingForCaller } from './delegation/question-exchange.ts';
export { createGivenUpTasks } from './given-up.ts';
export { homeOf, workerOf } from './home.ts';
export { followTask } from './prose/follow-task.ts';
export { answerTimeoutMs, type FollowOptions, findTaskOf } from './prose/send-once.ts';
export { createRelay, relaySettings } from './relay.ts';
export { peerWithTask } from './relay-state.ts';

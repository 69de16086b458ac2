export { silentLog as silent } from '@hermes-fleet/protocol';
export { cardOf } from './cards.ts';
export { announceOf, manualClock, NOW, peerOf } from './fakes.ts';
export { dispatching, inbound } from './messages.ts';
export {
  asking,
  CALLER,
  DONE,
  freePort,
  type ProfileOptions,
  profile,
  type Script,
  type TestProfile,
  untilAborted,
} from './profile.ts';
export { PREFERRED_FIRST, type RelayFleet, relayFleet, spending } from './relay-fleet.ts';
export { announcing, cardOnly, dispatchOf, POLICY, prosePeer } from './routing.ts';
export { type Answer, NOBODY_TO_ASK, scriptedPeer } from './scripted-peer.ts';
export { handshakeIn, rpc, sendHandshake, violations } from './wire.ts';

export { cardOf } from './cards.ts';
export { announceOf, instanceOf, manualClock, NOW, peerOf } from './fakes.ts';
export { announcing, cardOnly, dispatchOf, POLICY, prosePeer } from './routing.ts';

import type { A2AClient } from '@hermes-fleet/a2a';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { Endpoint } from '../world/network.ts';
import type { World } from './world.ts';

/** A profile that takes announces, and answers with data parts. */
export interface Announced extends Endpoint {
  announce(data: JsonObject, from: string): Promise<JsonObject[]>;
}

/** The client of an announcer, whose messages go over the simulated network. No profile has a card to read. */
export function announceClient(
  { network, announces }: Pick<World, 'network' | 'announces'>,
  from: Endpoint,
  to: Announced,
): Pick<A2AClient, 'send' | 'card'> {
  return {
    async send(_peer, { data = {} }, { timeoutMs, signal }) {
      announces.sent += 1;
      announces.bytes += JSON.stringify(data).length;
      const answer = await network.call({ from, to, timeoutMs, signal }, () => to.announce(data, from.name));
      announces.answered += 1;
      for (const each of answer) announces.answerBytes += JSON.stringify(each).length;
      return { kind: 'message', text: '', data: answer };
    },
    card: () => Promise.reject(new FleetError('PEER_REFUSED', 'no agent card in a simulation')),
  };
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { registerCircuits } from './circuits.ts';

test('each scrape has the circuits as they are then, and no peer that is gone', async () => {
  let circuits: Record<string, boolean> = { neo: false, trinity: true };
  const registry = new Registry();
  registerCircuits(registry, () => circuits);
  const shown = async () => (await registry.metrics()).match(/^fleet_.*$/gm);
  assert.deepEqual(await shown(), [
    'fleet_peer_circuit_open{peer="neo"} 0',
    'fleet_peer_circuit_open{peer="trinity"} 1',
  ]);
  circuits = { neo: true };
  assert.deepEqual(await shown(), ['fleet_peer_circuit_open{peer="neo"} 1']);
});

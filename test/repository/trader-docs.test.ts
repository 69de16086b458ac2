import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonObject } from '@hermes-fleet/protocol';
import {
  ControlCode,
  ControlDecisionWire,
  ControlResponseWire,
  ControlWarning,
  RiskMode,
  readControlDecision,
} from '@hermes-fleet/protocol/control';
import { doc, fenced, rows, section } from '../support/docs.ts';
import { leaves } from '../support/schema.ts';

const text = doc('docs/trader.md');

/** Every word in code format in the first cells of a section's tables. */
const firstCells = (heading: string): string[] =>
  rows(section(text, heading)).flatMap(([cell = '']) =>
    [...cell.matchAll(/`([a-z_]+)`/g)].map(([, word = '']) => word),
  );

const topLevel = (schema: Parameters<typeof leaves>[0]): string[] => [
  ...new Set(leaves(schema, { brackets: false }).map((path) => path.split(/[.[]/)[0] ?? '')),
];

test('trader.md has every field of a decision and of its answer', () => {
  assert.deepEqual(firstCells('Request').sort(), topLevel(ControlDecisionWire).sort());
  assert.deepEqual(firstCells('Response').sort(), topLevel(ControlResponseWire).sort());
});

test('trader.md has every code, every warning and every risk mode', () => {
  const known = [...ControlCode.options, ...ControlWarning.options];
  assert.deepEqual(firstCells('Codes').sort(), known.sort());
  const modes: ReadonlySet<string> = new Set(RiskMode.options);
  assert.deepEqual(
    firstCells('State').filter((word) => modes.has(word)),
    [...RiskMode.options],
  );
});

test('the decision that trader.md shows is one that is taken', () => {
  const bodies = fenced(text, 'sh').flatMap((block) =>
    [...block.matchAll(/-d '(.*?)'/gs)].map((at) => at[1]),
  );
  const requests = bodies.map((body): unknown => JSON.parse(body ?? ''));
  const decisions = requests.filter(
    (request) => isJsonObject(request) && request.method === 'apply_control_decision',
  );
  assert.equal(decisions.length, 1);
  for (const decision of decisions) {
    assert.ok(isJsonObject(decision));
    const reading = readControlDecision(JSON.stringify(decision.params));
    assert.ok('decision' in reading, JSON.stringify(reading));
  }
});

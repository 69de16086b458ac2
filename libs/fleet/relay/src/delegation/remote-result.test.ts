import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { announceOf } from '@hermes-fleet/peers/testing';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { encodeAnnounce, encodeResult, type ReplySchema } from '@hermes-fleet/protocol/handshake';
import { neverArrived } from './peer-contact.ts';
import { announcesIn, answerOf, hasResult, judgeAnswer, outcomeOf, resultOf } from './remote-result.ts';

const wire = encodeResult({
  type: 'TASK_RESULT',
  protocolVersion: '2.0',
  taskId: 'remote',
  status: 'done',
  tokensSpent: 3,
  nextSteps: ['review'],
  blockedReason: null,
  artifacts: { filesChanged: ['a.ts'] },
  durationMs: 5,
});
const task = (state: string, data: JsonObject[] = [], text = 'words') => ({ state, data, text });

describe('the result in a peer’s answer', () => {
  it('is its TASK_RESULT: unknown fields are kept, IDs and counts are left out', () => {
    const result = resultOf(task('completed', [{ type: 'SESSION_ANNOUNCE' }, { ...wire, mood: 'good' }]), {
      taskId: 'remote',
      replySchema: 'structured',
    });
    assert.equal(result.tokensSpent, 3);
    const outcome: object = outcomeOf(result, 'neo');
    assert.deepEqual(outcome, {
      status: 'done',
      nextSteps: ['review'],
      blockedReason: null,
      artifacts: { filesChanged: ['a.ts'] },
      mood: 'good',
      executedBy: 'neo',
    });
  });

  const prose: [string, ReplySchema, string, object][] = [
    ['completed', 'prose', 'done', { text: 'words' }],
    [
      'completed',
      'structured',
      'partial',
      { remaining: ['a structured reply: the peer answered in prose (it has no TASK_RESULT)'] },
    ],
    ['rejected', 'prose', 'blocked', { blockedReason: 'the peer rejected the task: words' }],
    ['failed', 'prose', 'error', {}],
    ['canceled', 'prose', 'error', {}],
  ];
  for (const [state, asked, status, fields] of prose)
    it(`of a prose peer in state ${state}, when ${asked} was required, is ${status}`, () => {
      const result = resultOf(task(state), { taskId: 't', replySchema: asked });
      assert.equal(result.status, status);
      assert.equal(result.taskId, 't');
      for (const [key, value] of Object.entries(fields))
        assert.deepEqual(Object.entries(result).find(([k]) => k === key)?.[1], value);
    });

  it('says that a rejection gave no reason', () => {
    const result = resultOf(task('rejected', [], ''), { taskId: 't', replySchema: 'prose' });
    assert.equal(result.blockedReason, 'the peer rejected the task without a reason');
  });

  it('may be a Message', () => {
    const asked = { taskId: 'remote', replySchema: 'prose' as const };
    assert.equal(resultOf(answerOf({ kind: 'message', text: 'hi', data: [] }), asked).text, 'hi');
    assert.equal(resultOf(answerOf({ kind: 'message', text: 'hi', data: [wire] }), asked).tokensSpent, 3);
  });

  it('keeps status, tokens and output without its invalid fields, which it and the log name', () => {
    const warned: object[] = [];
    const asked = {
      taskId: 'remote',
      replySchema: 'json' as const,
      endpoint: { name: 'neo' },
      log: { warn: (fields: object) => void warned.push(fields) },
    };
    const { artifacts: _, ...bare } = wire;
    const said = {
      ...bare,
      usage: { input_tokens: 2, output_tokens: 1, source: 'metered' },
      duration_ms: -1,
      error: 'none',
      output: { n: 1 },
    };
    const fields = 'usage.model, duration_ms, error, artifacts';
    const note = `the peer's result had invalid fields, which were left out: `;
    for (const answer of [task('completed', [said]), task('completed', [], JSON.stringify(said))]) {
      const result = resultOf(answer, asked);
      assert.deepEqual([result.status, result.tokensSpent, result.output], ['done', 3, { n: 1 }]);
      assert.equal(result.usage?.inputTokens, 2);
      const [first, last = ''] = result.nextSteps;
      assert.deepEqual([first, result.nextSteps.length], ['review', 2]);
      for (const field of fields.split(', ')) assert.ok(last.startsWith(note) && last.includes(field), last);
    }
    assert.equal(warned.length, 2);
    assert.deepEqual(
      warned.map((each) => 'peer' in each && each.peer),
      ['neo', 'neo'],
    );
    const many = { ...wire, next_steps: Array.from({ length: 30 }, () => 7) };
    assert.match(resultOf(task('completed', [many]), asked).nextSteps.join(), /next_steps\[9\] and 20 more$/);
  });

  const inVersion2 = { taskId: 'remote', replySchema: 'prose' as const, protocolVersion: '2.0' };

  for (const state of ['failed', 'canceled', 'rejected'])
    it(`is an error when the task is ${state} and the result says done; tokens and output stay`, () => {
      const said = { ...wire, output: { n: 1 }, text: 'almost' };
      for (const answer of [task(state, [said]), task(state, [], JSON.stringify(said))]) {
        const result = resultOf(answer, inVersion2);
        assert.deepEqual([result.status, result.tokensSpent, result.output], ['error', 3, { n: 1 }]);
        assert.deepEqual(result.error, {
          code: state === 'canceled' ? 'canceled' : 'peer_failed',
          message: `the peer ended the task as ${state}, although its TASK_RESULT says done`,
          retryable: false,
        });
      }
    });

  it('is not read in another major version than that of the dispatch', () => {
    const said = { ...wire, protocol_version: '3.0' };
    const detail = 'its TASK_RESULT has version 3.0, while the dispatch has 2.0';
    const done = resultOf(task('completed', [said], 'what I did'), inVersion2);
    assert.deepEqual([done.status, done.tokensSpent, done.text], ['error', 0, 'what I did']);
    assert.deepEqual(done.error, {
      code: 'peer_failed',
      message: `the peer ended the task as completed, and ${detail}`,
      retryable: false,
    });
    const rejected = resultOf(task('rejected', [said]), inVersion2);
    assert.deepEqual([rejected.status, rejected.blockedReason], ['blocked', detail]);
    assert.deepEqual(rejected.unmet, [{ kind: 'version', name: '3.0', detail, transient: false }]);
    assert.equal(
      resultOf(task('completed', [said]), { ...inVersion2, protocolVersion: '3.1' }).status,
      'done',
    );
    const newer = { ...wire, protocol_version: '2.7' };
    assert.equal(resultOf(task('completed', [newer]), inVersion2).status, 'done');
  });

  it('in the text in another major version is no result, and the text is', () => {
    const text = `Done. ${JSON.stringify({ ...wire, protocol_version: '3.0' })}`;
    assert.deepEqual(resultOf(task('completed', [], text), inVersion2).status, 'done');
    const { result, reported, missed } = judgeAnswer(task('completed', [], text), {
      ...inVersion2,
      replySchema: 'structured',
    });
    assert.deepEqual([result.status, reported, missed], ['partial', false, 'its version is 3.0']);
  });

  it('was executed by the agent that it names, but not by nobody or by the agent that asked', () => {
    const by = (name: string | undefined) => {
      const said = name === undefined ? wire : { ...wire, executed_by: name };
      return outcomeOf(resultOf(task('completed', [said]), inVersion2), 'morpheus', 'switch').executedBy;
    };
    assert.deepEqual(
      [by(undefined), by('morpheus'), by('neo'), by('switch'), by('')],
      ['morpheus', 'morpheus', 'neo', 'morpheus', 'morpheus'],
    );
  });

  it('is an error of the peer, with the invalid fields, when it breaks the contract', () => {
    const asked = { taskId: 'remote', replySchema: 'prose' as const };
    assert.ok(hasResult(task('completed', [wire])) && !hasResult(task('completed')));
    assert.throws(
      () => resultOf(task('completed', [{ ...wire, tokens_spent: -1 }]), asked),
      (error) =>
        error instanceof FleetError && error.code === 'PEER_REFUSED' && /tokens_spent/.test(error.message),
    );
    assert.throws(
      () => resultOf(task('completed', [wire]), { ...asked, taskId: 'another' }),
      (error) =>
        error instanceof FleetError && error.code === 'PEER_REFUSED' && /task_id/.test(error.message),
    );
  });
});

describe('a TASK_RESULT in the text of an answer', () => {
  const asked = { taskId: 'remote', replySchema: 'structured' as const };
  const said = (more: JsonObject = {}) =>
    `All done.\n\`\`\`json\n${JSON.stringify({ ...wire, ...more })}\n\`\`\``;

  it('is the result, and all of it counts as claimed', () => {
    const evidence = [{ kind: 'command', detail: 'npm test', exit_code: 0 }];
    const result = resultOf(task('completed', [], said({ evidence, executed_by: 'somebody' })), asked);
    assert.deepEqual([result.status, result.tokensSpent, result.text], ['done', 3, 'All done.']);
    assert.deepEqual(result.usage?.source, 'reported');
    assert.deepEqual(
      result.evidence?.map(({ kind, detail }) => [kind, detail]),
      [
        ['claimed', 'npm test'],
        ['claimed', 'the result is as the agent reported it: nothing in it was verified here'],
      ],
    );
    assert.equal(outcomeOf(result, 'helper').executedBy, 'helper');
  });

  it('names no branch with files, which only a peer with the handshake serves', () => {
    const delivery = { repository: null, branch: 'fleet/c', commit: 'a1', base: 'b2', state: 'kept' };
    const artifacts = { files_changed: ['a.ts'], delivery };
    assert.deepEqual(resultOf(task('completed', [], said({ artifacts })), asked).artifacts, {
      filesChanged: ['a.ts'],
    });
    const reported = resultOf(task('completed', [{ ...wire, artifacts }]), asked);
    assert.deepEqual(reported.artifacts.delivery, delivery);
  });

  it('keeps its own text and token count', () => {
    const usage = { input_tokens: 2, output_tokens: 1, model: 'm', source: 'metered' };
    const result = resultOf(task('completed', [], said({ usage, text: 'short' })), asked);
    assert.equal(result.text, 'short');
    assert.deepEqual(result.usage, { inputTokens: 2, outputTokens: 1, model: 'm', source: 'reported' });
  });

  it('is not done when the task itself failed; another status stays', () => {
    const failed = resultOf(task('failed', [], said()), asked);
    assert.deepEqual([failed.status, failed.error?.code, failed.tokensSpent], ['error', 'peer_failed', 3]);
    const partial = resultOf(task('failed', [], said({ status: 'partial', remaining: ['b'] })), asked);
    assert.deepEqual([partial.status, partial.remaining], ['partial', ['b']]);
  });

  it('is ignored, with the reason, when it is about another task or invalid', () => {
    for (const [more, why] of [
      [{ task_id: 'x' }, /task_id: must be "remote"/],
      [{ tokens_spent: 'few' }, /tokens_spent/],
    ] as const) {
      const { result, missed, reported } = judgeAnswer(task('completed', [], said(more)), asked);
      assert.deepEqual([result.status, reported], ['partial', false]);
      assert.match(missed ?? '', why);
      assert.match(result.remaining?.join() ?? '', why);
    }
  });
});

describe('the output of a JSON reply', () => {
  const outputSchema: JsonObject = {
    type: 'object',
    required: ['n'],
    properties: { n: { type: 'integer' } },
  };
  const asked = { taskId: 'remote', replySchema: 'json' as const, outputSchema };
  const JSON_REPLIES: readonly [string, JsonObject, JsonObject | undefined, string, RegExp][] = [
    ['fits', { output: { n: 1 } }, outputSchema, 'done', /^$/],
    ['does not fit', { output: { n: 'one' } }, outputSchema, 'partial', /\/n must be integer/],
    ['is missing', {}, outputSchema, 'partial', /there is no output/],
    ['is missing, without a schema', {}, undefined, 'partial', /there is no output/],
    ['is null, without a schema', { output: null }, undefined, 'done', /^$/],
    ['does not fit, and it says so', { status: 'partial', remaining: [] }, outputSchema, 'partial', /^$/],
  ];
  for (const [what, more, schema, status, missing] of JSON_REPLIES)
    it(`${what}: ${status}, in a data part and in the text`, () => {
      const said = { ...wire, ...more };
      for (const answer of [task('completed', [said]), task('completed', [], JSON.stringify(said))]) {
        const { result, missed } = judgeAnswer(answer, { ...asked, outputSchema: schema });
        assert.equal(result.status, status);
        assert.match(missed ?? '', missing);
        assert.match(result.remaining?.join() ?? '', missing);
      }
    });

  it('is read from an answer that is only a JSON value, as partial work', () => {
    for (const text of ['{"n": 2}', '```json\n{"n": 2}\n```\n']) {
      const result = resultOf(task('completed', [], text), asked);
      assert.deepEqual([result.status, result.output], ['partial', { n: 2 }]);
    }
    for (const text of ['{"n": "2"}', 'n is 2', '{"n": 2} indeed'])
      assert.equal(resultOf(task('completed', [], text), asked).output, undefined);
  });
});

it('announces in an answer are found in its data parts and in its text', () => {
  const announce = encodeAnnounce(announceOf('neo'));
  const many = Array.from({ length: 10_000 }, () => announce);
  assert.deepEqual(
    announcesIn({ data: [{ type: 'x' }, ...many], text: 'hi' }),
    [announce],
    'one is written down',
  );
  assert.deepEqual(announcesIn({ data: [], text: `I am\n${JSON.stringify(announce)}` }), [announce]);
});

describe('a failed call', () => {
  it('certainly never arrived after a connection error', () => {
    const refused = Object.assign(new Error('x'), { code: 'ECONNREFUSED' });
    assert.ok(
      neverArrived(
        new FleetError('PEER_UNREACHABLE', 'x', { cause: new TypeError('y', { cause: refused }) }),
      ),
    );
    assert.ok(!neverArrived(Object.assign(new Error('x'), { code: 'ECONNRESET' })));
    assert.ok(!neverArrived(new FleetError('PEER_UNREACHABLE', 'timed out')));
  });
});

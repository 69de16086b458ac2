import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import {
  delegation,
  error,
  play,
  reported,
  type Script,
  said,
  seen,
  sent,
  task,
} from '../../testing/prose-script.ts';
import { scriptedPeer } from '../../testing/scripted-peer.ts';
import { delegateProse } from './delegate-prose.ts';

describe('a reply without a required part', () => {
  const structured = { replySchema: 'structured' as const };

  it('is requested once more, in the same context, as a report and not as work', async (t) => {
    const { calls, result, sends } = await play(
      t,
      [
        ['SendMessage', said('All is well.')],
        ['SendMessage', said(`Sorry. ${reported()}`)],
      ],
      structured,
    );
    assert.deepEqual([result.status, result.tokensSpent, result.text], ['done', 5, 'All is well.']);
    assert.equal(sends, 2);
    const again = JSON.stringify(calls[1]?.params);
    assert.match(again, /"messageId":"m-1:repair","contextId":"c-1"/);
    assert.match(again, /no TASK_RESULT.*Do not do the work again/);
  });

  it('stays partial when the second reply is no better, or is lost', async (t) => {
    for (const second of [
      said('As I said.'),
      'cut',
      said(reported({ status: 'blocked', blocked_reason: 'x' })),
    ] as const) {
      const { result, sends } = await play(
        t,
        [
          ['SendMessage', said('All is well.')],
          ['SendMessage', second],
          ['ListTasks', error(-32601)],
        ],
        structured,
      );
      assert.deepEqual([result.status, result.text, sends], ['partial', 'All is well.', 2]);
    }
  });

  it('stays partial when the second reply is a question, which is canceled, or an invalid TASK_RESULT', async (t) => {
    const asks = await play(
      t,
      [
        ['SendMessage', said('All is well.')],
        ['SendMessage', sent('r-2', 'INPUT_REQUIRED')],
        ['CancelTask', seen('r-2', 'CANCELED')],
      ],
      structured,
    );
    assert.deepEqual([asks.result.status, asks.methods.at(-1)], ['partial', 'CancelTask']);
    const broken = { result: { message: { parts: [{ data: { type: 'TASK_RESULT' } }] } } };
    const odd = await play(
      t,
      [
        ['SendMessage', said('All is well.')],
        ['SendMessage', broken],
      ],
      structured,
    );
    assert.deepEqual([odd.result.status, odd.result.text], ['partial', 'All is well.']);
  });

  it('names the problem in its output, and adds up the tokens of both replies', async (t) => {
    const outputSchema = { type: 'object', required: ['n'] };
    const { calls, result } = await play(
      t,
      [
        ['SendMessage', said(reported({ output: {} }))],
        ['SendMessage', said(reported({ output: { n: 1 } }))],
      ],
      { replySchema: 'json', outputSchema },
    );
    assert.deepEqual([result.status, result.output, result.tokensSpent], ['done', { n: 1 }, 10]);
    assert.match(JSON.stringify(calls[1]?.params), /must have required property 'n'/);
  });

  it('is not requested again when the budget is used up', async (t) => {
    const script: Script = [['SendMessage', said(reported({ output: 1 }))]];
    const asked = { replySchema: 'json' as const, outputSchema: { type: 'string' } };
    const { result, sends } = await play(t, script, { ...asked, remainingTokens: () => 5 });
    assert.deepEqual([result.status, sends], ['partial', 1]);
  });

  it('is not requested again after a restart, unless that request can be found', async (t) => {
    const script: Script = [
      ['SubscribeToTask', { events: [{ task: task('r-1', 'COMPLETED') }] }],
      ['ListTasks', error(-32601)],
    ];
    const resumed = { ...structured, resumed: true };
    const { result, sends } = await play(t, script, resumed, { ...delegation, remoteTaskId: 'r-1' });
    assert.deepEqual([result.status, sends], ['partial', 0]);
  });

  for (const [code, ends] of [
    ['DEADLINE_EXCEEDED', 'partial'],
    ['SHUTTING_DOWN', 'thrown'],
  ] as const)
    it(`ends as ${ends} when ${code} comes first`, async (t) => {
      const { options, calls, over } = await scriptedPeer(t, [
        ['SendMessage', said('All is well.')],
        ['SendMessage', 'silence'],
      ]);
      const controller = new AbortController();
      const delegated = delegateProse({ ...options, ...structured, signal: controller.signal }, delegation);
      await over;
      controller.abort(new FleetError(code, 'now'));
      const ended = await delegated.then(
        (each) => (each.kind === 'result' ? each.result.status : each.kind),
        (thrown) => (thrown === controller.signal.reason ? 'thrown' : thrown),
      );
      assert.deepEqual([ended, calls.length], [ends, 2]);
    });
});

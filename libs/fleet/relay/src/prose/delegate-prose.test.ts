import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { announceOf, manualClock } from '@hermes-fleet/peers/testing';
import { encodeAnnounce } from '@hermes-fleet/protocol/handshake';
import {
  delegation,
  error,
  listed,
  noStream,
  play,
  type Script,
  said,
  seen,
  sent,
  task,
} from '../../testing/prose-script.ts';
import { type Answer, scriptedPeer } from '../../testing/scripted-peer.ts';
import { cancelProseTask, delegateProse } from './delegate-prose.ts';

describe('a task at a prose peer', () => {
  it('goes as text in its context, and a Message is its result', async (t) => {
    const { calls, result, announces } = await play(t, [['SendMessage', said('It is done.')]]);
    assert.deepEqual([result.status, result.text, result.tokensSpent], ['done', 'It is done.', 0]);
    assert.equal(result.usage?.source, 'reported');
    assert.deepEqual(calls[0]?.params, {
      message: {
        messageId: 'm-1',
        contextId: 'c-1',
        role: 'ROLE_USER',
        parts: [{ text: delegation.payload.text, mediaType: 'text/plain' }],
      },
      configuration: { returnImmediately: true },
    });
    assert.deepEqual(announces, []);
  });

  it('is followed by stream if the agent has one', async (t) => {
    const { result, taken, methods } = await play(t, [
      ['SendMessage', sent('r-1', 'SUBMITTED')],
      [
        'SubscribeToTask',
        {
          events: [
            { task: task('r-1', 'WORKING') },
            { artifactUpdate: { artifact: { artifactId: 'x', parts: [{ text: 'all of it' }] } } },
            { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } },
          ],
        },
      ],
    ]);
    assert.deepEqual([result.status, result.text, taken], ['done', 'all of it', ['r-1']]);
    assert.deepEqual(methods, ['SendMessage', 'SubscribeToTask']);
  });

  for (const [what, answer] of [
    ['says that it has no stream', error(-32601)],
    ['has no stream for this task', noStream],
  ] as const)
    it(`is polled when the agent ${what}`, async (t) => {
      const { result, methods } = await play(t, [
        ['SendMessage', sent('r-1', 'WORKING')],
        ['SubscribeToTask', answer],
        ...(answer === noStream ? [['GetTask', seen('r-1', 'WORKING')] as const] : []),
        ['GetTask', seen('r-1', 'WORKING')],
        ['GetTask', 'cut'],
        ['GetTask', seen('r-1', 'COMPLETED')],
      ]);
      assert.equal(result.text, 'r-1 COMPLETED');
      assert.equal(methods.filter((each) => each === 'SubscribeToTask').length, 1);
    });

  it('is followed further after a broken stream', async (t) => {
    const { result } = await play(t, [
      ['SendMessage', sent('r-1', 'WORKING')],
      ['SubscribeToTask', { events: [{ task: task('r-1', 'WORKING') }] }],
      ['GetTask', seen('r-1', 'WORKING')],
      ['SubscribeToTask', { events: [{ task: task('r-1', 'COMPLETED') }] }],
    ]);
    assert.equal(result.status, 'done');
  });

  it('is followed further after a restart of this profile, and never sent again', async (t) => {
    const script: Script = [['SubscribeToTask', { events: [{ task: task('r-1', 'COMPLETED') }] }]];
    const { result, sends } = await play(
      t,
      script,
      { resumed: true },
      { ...delegation, remoteTaskId: 'r-1' },
    );
    assert.deepEqual([result.status, sends], ['done', 0]);
  });

  it('becomes partial when its agent asks a question, and is canceled there', async (t) => {
    const { result, methods } = await play(t, [
      ['SendMessage', sent('r-1', 'INPUT_REQUIRED')],
      ['CancelTask', seen('r-1', 'CANCELED')],
    ]);
    assert.equal(result.status, 'partial');
    assert.match(result.remaining?.join() ?? '', /helper asked.*r-1 INPUT_REQUIRED/);
    assert.deepEqual(methods, ['SendMessage', 'CancelTask']);
  });

  it('reports the announces in its answer', async (t) => {
    const announce = encodeAnnounce(announceOf('helper'));
    const { announces } = await play(t, [['SendMessage', said(`Hello. ${JSON.stringify(announce)}`)]]);
    assert.deepEqual(announces, [announce]);
  });
});

describe('a task that may have reached a prose peer', () => {
  const LOST: readonly [string, Answer][] = [
    ['was cut off', 'cut'],
    ['was an internal error', error(-32603)],
    ['was HTTP 503', { body: '', status: 503 }],
    ['was no A2A', { body: '<html>' }],
  ];
  for (const [what, answer] of LOST) {
    it(`is found by its message when the answer ${what}`, async (t) => {
      const { result, taken, sends } = await play(t, [
        ['SendMessage', answer],
        ['ListTasks', listed(task('other', 'COMPLETED', { history: [{ messageId: 'm-0' }] }))],
        ['ListTasks', listed(task('r-1', 'WORKING'))],
        ['SubscribeToTask', { events: [{ task: task('r-1', 'COMPLETED') }] }],
      ]);
      assert.deepEqual([result.status, taken, sends], ['done', ['r-1'], 1]);
    });

    it(`is not sent again when the answer ${what} and the agent has no list`, async (t) => {
      const { result, sends } = await play(t, [
        ['SendMessage', answer],
        ['ListTasks', error(-32601)],
      ]);
      assert.deepEqual(
        [result.status, result.error?.code, result.error?.retryable],
        ['error', 'outcome_unknown', false],
      );
      assert.match(result.error?.message ?? '', /look for context c-1 at helper/);
      assert.equal(sends, 1);
    });
  }

  it('is not sent again when the list does not show it', async (t) => {
    const { result, sends } = await play(t, [
      ['SendMessage', 'cut'],
      ...[1, 2, 3].map(() => ['ListTasks', listed(task('r-0', 'WORKING', { contextId: 'c-2' }))] as const),
    ]);
    assert.deepEqual([result.error?.code, sends], ['outcome_unknown', 1]);
  });

  it('is looked for until the agent answers or has been unreachable too long', async (t) => {
    const back = await play(t, [
      ['SendMessage', 'cut'],
      ['ListTasks', 'cut'],
      ['ListTasks', { body: '', status: 503 }],
      ['ListTasks', listed(task('r-1', 'COMPLETED'))],
      ['SubscribeToTask', noStream],
      ['GetTask', seen('r-1', 'COMPLETED')],
    ]);
    assert.equal(back.result.status, 'done');
    const away = await play(t, [['SendMessage', 'cut']], { peerDownAfterMs: 300 });
    assert.deepEqual([away.result.error?.code, away.sends], ['outcome_unknown', 1]);
  });

  it('goes to the address that was saved with it, on the same host only', async (t) => {
    for (const [url, asked] of [
      [undefined, '/'],
      ['http://127.0.0.1:1/elsewhere', '/'],
      ['same origin', '/a2a/v1?x=1'],
    ] as const) {
      const { options } = await scriptedPeer(t, []);
      const { origin } = new URL(options.endpoint.url);
      const noted = url === 'same origin' ? `${origin}/a2a/v1?x=1` : url;
      const urls: string[] = [];
      const send: typeof options.client.send = async ({ url: at }) => {
        urls.push(at.replace(origin, ''));
        return { kind: 'message', text: 'hi', data: [] };
      };
      const payload = { text: 'x', ...(noted === undefined ? {} : { url: noted }) };
      await delegateProse({ ...options, client: { ...options.client, send } }, { ...delegation, payload });
      assert.deepEqual(urls, [asked]);
    }
  });

  it('fails as a fault of this profile when its text is missing', async (t) => {
    const { options } = await scriptedPeer(t, []);
    await assert.rejects(delegateProse(options, { ...delegation, payload: {} }), /holds no text/);
  });

  it('is not sent again when the agent stays unreachable', async (t) => {
    const script: Script = [['SendMessage', sent('r-1', 'WORKING')]];
    const { result, sends } = await play(t, script, { peerDownAfterMs: 300 });
    assert.deepEqual([result.error?.code, sends], ['outcome_unknown', 1]);
    assert.match(result.error?.message ?? '', /has not answered for/);
  });

  it('is not sent again when the agent has forgotten it', async (t) => {
    const { result, sends } = await play(t, [
      ['SendMessage', sent('r-1', 'WORKING')],
      ['SubscribeToTask', error(-32001)],
      ['GetTask', error(-32001)],
    ]);
    assert.deepEqual([result.error?.code, sends], ['outcome_unknown', 1]);
  });

  it('is looked for, not sent, after a restart of this profile', async (t) => {
    const found = await play(
      t,
      [
        ['ListTasks', listed(task('r-1', 'COMPLETED'))],
        ['SubscribeToTask', noStream],
        ['GetTask', seen('r-1', 'COMPLETED')],
      ],
      { resumed: true },
    );
    assert.deepEqual([found.result.status, found.sends], ['done', 0]);
    const lost = await play(t, [['ListTasks', error(-32601)]], { resumed: true });
    assert.deepEqual([lost.result.error?.code, lost.sends], ['outcome_unknown', 0]);
  });

  it('is refused, so that another peer may get it, when it certainly never arrived or was declined', async (t) => {
    const { options } = await scriptedPeer(t, []);
    const nobody = { ...options, endpoint: { name: 'gone', url: 'http://127.0.0.1:1/' } };
    assert.equal((await delegateProse(nobody, delegation)).kind, 'refused');
    const { delegated } = await play(t, [['SendMessage', error(-32602)]]);
    assert.deepEqual([delegated.kind, 'declined' in delegated && delegated.declined], ['refused', true]);
  });

  it('has an unknown outcome after ten minutes without a change, unless a deadline bounds it', async (t) => {
    const clock = manualClock();
    const polls = [1, 2].map(() => ['GetTask', seen('r-1', 'WORKING')] as const);
    const peer = await scriptedPeer(t, [
      ['SendMessage', sent('r-1', 'WORKING')],
      ['SubscribeToTask', error(-32601)],
      ...polls,
    ]);
    const late = { ...clock, sleep: async () => clock.advance(601_000) };
    const delegated = await delegateProse({ ...peer.options, clock: late }, delegation);
    assert.ok(delegated.kind === 'result');
    assert.match(delegated.result.error?.message ?? '', /has made no progress for 10 minutes/);
  });
});

describe('a cancellation at a prose peer', () => {
  it('cancels a known or found task, and returns its result', async (t) => {
    const known = await scriptedPeer(t, [['CancelTask', seen('r-1', 'CANCELED')]]);
    const result = await cancelProseTask(known.options, { ...delegation, remoteTaskId: 'r-1' });
    assert.equal(result?.error?.code, 'canceled');
    const found = await scriptedPeer(t, [
      ['ListTasks', listed(task('r-1', 'WORKING'))],
      ['CancelTask', seen('r-1', 'WORKING')],
    ]);
    assert.equal(await cancelProseTask(found.options, delegation), undefined);
    assert.equal(found.calls.at(-1)?.params.id, 'r-1');
  });

  it('sends nothing when it cannot find the task', async (t) => {
    const { options, calls } = await scriptedPeer(t, [['ListTasks', listed()]]);
    assert.equal(await cancelProseTask(options, delegation), undefined);
    assert.deepEqual(
      calls.map(({ method }) => method),
      ['ListTasks'],
    );
  });
});

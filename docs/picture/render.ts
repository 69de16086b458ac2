import { type DemoRun, type Outcome, readRun } from './read-run.ts';
import { type Band, drawSequence, type Lane } from './sequence.ts';

/** The picture of the README, from the output of `make demo`. The same output gives the same SVG. */
export function renderDemo(output: string): string {
  const run = readRun(output);
  return drawSequence({
    title: 'A run of make demo',
    description: `A dispatch is routed to ${run.routed.worker} and done; two others are blocked with 0 tokens spent; a decision is applied once, and its copy changes nothing.`,
    heading: '$ make demo',
    source: `a real run; the model is ${run.profiles[0]?.model}, which needs no network`,
    lanes: lanes(run),
    bands: [announced(run), routed(run), blocked(run), passedOn(run), decided(run)],
  });
}

const CENTERS: Readonly<Record<string, number>> = { switch: 350, neo: 510, morpheus: 648, trinity: 786 };

function lanes({ profiles }: DemoRun): Lane[] {
  return [
    { name: 'you', note: 'any A2A client', x: 88 },
    ...Object.entries(CENTERS).map(([name, x]) => {
      const profile = profiles.find((each) => each.name === name);
      if (!profile) throw new Error(`the run does not show ${name}`);
      return { name, note: `${profile.role}, ${profile.tier}`, x };
    }),
    { name: 'trader', note: 'paper trading', x: 924 },
  ];
}

function announced({ profiles }: DemoRun): Band {
  const workers = profiles.filter(({ role }) => role === 'worker');
  const [last, ...others] = workers.map(({ name }) => name).reverse();
  if (last === undefined) throw new Error('the run shows no worker');
  const servers = [...new Set(workers.map((worker) => worker.servers))].join(' / ');
  return {
    title: 'Announce',
    note: 'Workers say what they can do, and what works right now, before any work is sent.',
    rows: [
      { from: last, alsoFrom: others, to: 'switch', text: `SESSION_ANNOUNCE: MCP ${servers}`, tone: 'plain' },
    ],
  };
}

function routed({ routed: done }: DemoRun): Band {
  return {
    title: 'Routed',
    note: 'The contract travels with the brief. The worker checks it, then works, then verifies.',
    rows: [
      { from: 'you', to: 'switch', text: 'TASK_DISPATCH: write a file', tone: 'plain' },
      {
        from: 'switch',
        to: done.worker,
        text: 'TASK_DISPATCH',
        tone: 'plain',
        remark: done.command,
      },
      {
        from: done.worker,
        to: 'you',
        text: summary(done),
        via: { lane: 'switch', received: `TASK_RESULT: ${done.files}` },
        tone: 'good',
        answer: true,
      },
    ],
  };
}

function blocked({ blocked: refused }: DemoRun): Band {
  return {
    title: 'Blocked',
    note: 'What nobody can do is refused before a model is asked.',
    rows: [
      {
        from: 'you',
        to: 'switch',
        text: 'TASK_DISPATCH: needs MCP "nope"',
        tone: 'plain',
      },
      {
        from: 'switch',
        to: 'you',
        text: summary(refused),
        tone: 'bad',
        answer: true,
        remark: refused.reason,
      },
    ],
  };
}

function passedOn({ passedOn: handedBack }: DemoRun): Band {
  const peers = handedBack.refusals.map(({ peer }) => peer);
  const last = Object.keys(CENTERS).findLast((name) => peers.includes(name));
  const [first] = handedBack.refusals;
  if (last === undefined || !first) throw new Error('the run shows no refusal');
  const reason = first.reason.replace(`that ${first.peer} needs`, 'needed');
  return {
    title: 'Passed on',
    note: 'A worker that refuses costs nothing, and the next one is asked.',
    rows: [
      { from: 'you', to: 'switch', text: 'TASK_DISPATCH: budget of one token', tone: 'plain' },
      { from: 'switch', to: last, text: 'asked one after the other', tone: 'bad', refusedBy: peers },
      { from: 'switch', to: 'you', text: summary(handedBack), tone: 'bad', answer: true, remark: reason },
    ],
  };
}

function decided({ decided: { decision, copy } }: DemoRun): Band {
  return {
    title: 'Decided',
    note: 'The trader applies a decision once, however often it is sent, and audits every attempt.',
    rows: [
      { from: 'you', to: 'trader', text: 'apply_control_decision: switch the strategy', tone: 'plain' },
      { from: 'trader', to: 'you', text: decision.replace('->', '→'), tone: 'good', answer: true },
      { from: 'trader', to: 'you', text: `the same decision again: ${copy}`, tone: 'plain', answer: true },
    ],
  };
}

const summary = ({ status, tokens, took }: Outcome): string =>
  `${status}, ${tokens.toLocaleString('en-US')} tokens, ${took}`;

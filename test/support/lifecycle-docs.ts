import {
  CONSOLE_STATES,
  LifecycleEvent,
  SCHEDULING_STATES,
  TASK_EVENTS,
  TASK_STATES,
  TaskState,
} from '@hermes-fleet/protocol';
import { tableOf } from './docs.ts';

const code = (name: string | null): string => (name === null ? '' : `\`${name}\``);

const states = TaskState.options.map((state) => {
  const { a2a, task } = TASK_STATES[state];
  return [code(state), code(`TASK_STATE_${a2a.toUpperCase()}`), task];
});
const events = LifecycleEvent.options.map((event) => {
  const { ledger, console: shown, ...end } = TASK_EVENTS[event];
  return [event, ledger, shown, 'result' in end ? end.result : null].map(code);
});

/** The parts of the documentation that come from the tables of a task's lifecycle, by the file that has them. */
export const LIFECYCLE_DOCS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'docs/handshake.md': {
    'states of a task': tableOf(['in the ledger', 'of A2A', 'the task'], states),
    'states of the scheduler': tableOf(
      ['state', 'the task', 'in the ledger'],
      Object.entries(SCHEDULING_STATES).map(([state, { task, ledger }]) => [state, task, ledger]),
    ),
  },
  'docs/events.md': {
    'states after events': tableOf(['event', 'in the ledger', 'in the console', 'result'], events),
  },
  'docs/console.md': {
    'states of the console': tableOf(
      ['state', 'on the page', 'the task'],
      Object.entries(CONSOLE_STATES).map(([state, { word, task }]) => [code(state), word, task]),
    ),
  },
};

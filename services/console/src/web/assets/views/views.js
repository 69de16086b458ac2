import { html } from '../lib/vendor.js';
import { BlockedView } from './blocked.js';
import { FleetView } from './fleet.js';
import { SendView } from './send.js';
import { SpendingView } from './spending.js';
import { TaskView } from './task.js';
import { TasksView } from './tasks.js';
import { TraderView } from './trader.js';

/**
 * @typedef {object} ViewEntry
 * @property {string} path The first segment of its address.
 * @property {(place: import('../lib/router.js').Place) => string} title
 * @property {(props: {place: import('../lib/router.js').Place}) => any} component
 */

/** @type {readonly ViewEntry[]} */
export const VIEWS = [
  {
    path: 'tasks',
    title: ({ path }) => (path.length > 1 ? 'Task' : 'Tasks'),
    component: ({ place }) =>
      place.path.length > 1 ? html`<${TaskView} place=${place} />` : html`<${TasksView} place=${place} />`,
  },
  { path: 'fleet', title: () => 'Fleet', component: FleetView },
  { path: 'blocked', title: () => 'Blocked', component: BlockedView },
  { path: 'spending', title: () => 'Spending', component: SpendingView },
  { path: 'trader', title: () => 'Trader', component: TraderView },
  { path: 'send', title: () => 'Send', component: SendView },
];

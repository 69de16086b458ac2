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
 * @property {string} name In the header, and its title if it has no other.
 * @property {(place: import('../lib/router.js').Place) => string} [title]
 * @property {(props: {place: import('../lib/router.js').Place}) => any} component
 */

/** The views, in the order of the header and of their keys. @type {readonly ViewEntry[]} */
export const VIEWS = [
  {
    path: 'tasks',
    name: 'Tasks',
    title: ({ path }) => (path.length > 1 ? 'Task' : 'Tasks'),
    component: ({ place }) =>
      place.path.length > 1 ? html`<${TaskView} place=${place} />` : html`<${TasksView} place=${place} />`,
  },
  { path: 'fleet', name: 'Fleet', component: FleetView },
  { path: 'blocked', name: 'Blocked', component: BlockedView },
  { path: 'spending', name: 'Spending', component: SpendingView },
  { path: 'trader', name: 'Trader', component: TraderView },
  { path: 'send', name: 'Send', component: SendView },
];

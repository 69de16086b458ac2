/** The views of the header, in its order. */
export const NAVIGATION = [
  { path: 'tasks', name: 'Tasks' },
  { path: 'fleet', name: 'Fleet' },
  { path: 'blocked', name: 'Blocked' },
  { path: 'spending', name: 'Spending' },
  { path: 'trader', name: 'Trader' },
  { path: 'send', name: 'Send' },
];

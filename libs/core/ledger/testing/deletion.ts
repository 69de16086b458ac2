/** The deletion of the context of `newTask`. */
export const REQUEST = {
  contextId: 'context-1',
  caller: 'switch',
  results: 'keep',
} as const;

/** A step that removed the files of that context. */
export const DONE = { results: 'keep', removed: { files: true, result: 'none' }, peers: [] } as const;

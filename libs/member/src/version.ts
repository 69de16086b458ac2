import manifest from '../package.json' with { type: 'json' };

/** The version of this build: that of every package in it. */
export const { version } = manifest;

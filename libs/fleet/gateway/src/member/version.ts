import manifest from '../../package.json' with { type: 'json' };

/** The version of this build; all packages share it. */
export const { version } = manifest;

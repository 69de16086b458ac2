import { flag, text, usage } from '../command-line/command.ts';

const MODEL_OPTIONS = {
  model: text(
    'provider/name',
    'the model, such as anthropic/claude-sonnet-4-5; offline/runbook calls nothing',
  ),
  'base-url': text('url', "the address of the model's API; openai-compatible models need it"),
};

export const initUsage = usage('init', 'make a folder with a fleet of your own', {
  args: '[folder]',
  textOnly: true,
  options: {
    ...MODEL_OPTIONS,
    'key-env': text(
      'name',
      "the variable of this environment with the model's key, which is stored in .env.local",
    ),
    repository: text('url|path', 'a repository that tasks may name: its https address, or your clone of it'),
    base: text('branch', 'the branch of the repository that work starts from; main by default'),
    'repository-token-env': text('name', 'the variable with the token of a private repository'),
    profiles: text('names', 'the profiles, as a list with switch; switch,neo,morpheus,trinity by default'),
    trader: flag('with the trader'),
    image: text('name', 'the image of the containers; without it, fleet up builds one from this package'),
    yes: flag('ask nothing'),
  },
  examples: [
    'init',
    'init my-fleet --yes',
    'init my-fleet --model anthropic/claude-sonnet-4-5 --key-env ANTHROPIC_API_KEY --profiles switch,coder',
  ],
});

export const profileAddUsage = usage('profile add', 'add a profile to the fleet of this folder', {
  args: '<name>',
  textOnly: true,
  options: {
    ...MODEL_OPTIONS,
    'key-env': text('name', 'the variable in which the profile finds the key; the usual one by default'),
    tier: text('tier', 'its tier: haiku, sonnet or opus'),
    purpose: text('text', 'what it is for, which other profiles read'),
    port: text('port', 'where it listens; the first free one by default'),
    like: text('profile', 'the profile whose files it begins with; the first worker by default'),
  },
  examples: [
    'profile add coder --model anthropic/claude-sonnet-4-5 --tier sonnet',
    'profile add local --model openai-compatible/qwen --base-url http://127.0.0.1:8000/v1 --like neo',
  ],
});

export const profileRemoveUsage = usage('profile remove', 'take a profile out of the fleet of this folder', {
  args: '<name>',
  textOnly: true,
  options: { yes: flag('do not ask') },
  examples: ['profile remove coder'],
});

import { playTopic } from './play.ts';

playTopic('refusals');

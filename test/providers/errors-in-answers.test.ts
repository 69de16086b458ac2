import { playTopic } from './play.ts';

playTopic('errors-in-answers');

import { playTopic } from './play.ts';

playTopic('endings');

/** What the service turned out to do, and what people were notified of. */
import { describeEvent } from '../../maintenance/core/notifications.ts'
import { listNotified, readBehaviours } from '../../maintenance/sql/status-report.ts'
import { listFailures } from '../../maintenance/sql/workers.ts'
import { html } from '../../values/html.ts'
import { section, sentences, table } from '../blocks.ts'
import { describeBehaviour } from '../core/behaviour-words.ts'
import type { ConsolePage } from '../frame.ts'
import type { ScreenRequest } from '../screen.ts'
import { ago, foreignText } from '../text.ts'

export async function showService({ db, frame }: ScreenRequest): Promise<ConsolePage> {
  const behaviours = await readBehaviours(db.db, db.project)
  const learned = table(
    'What the service does',
    ['About', 'What it does', 'How this is known', 'Learned'],
    behaviours.map(({ name, value, evidence, learnedAt }) => {
      const { of, text } = describeBehaviour(name, value)
      return [of, foreignText(text), foreignText(evidence), ago(learnedAt, frame)]
    }),
    'Nothing has been learned yet: the first sync does.',
  )
  const failing = (await listFailures(db.db, db.project)).find(({ job }) => job === 'notify')
  const announced = table(
    'What was announced and still holds',
    ['Event', 'Announced'],
    (await listNotified(db)).map(({ event, announcedAt }) => [
      describeEvent(event),
      ago(announcedAt, frame),
    ]),
    'Nothing has been announced, or no address is set (notify in the configuration).',
  )
  const problems =
    failing === undefined ? [] : [{ kind: 'wrong', text: foreignText(failing.reason) } as const]
  const content = html`${section('What its documentation leaves open', learned)}
    ${section('Notifications', html`${sentences(problems, frame)}${announced}`)}`
  return { title: 'Service', section: 'Service', content }
}

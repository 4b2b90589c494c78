/** The switches as they are now, and who has to know when one is moved. */

import { changeKinds } from './churn.ts'
import { chosenKinds } from './server/faults.ts'
import { type Switches, type SwitchName, switchesWith } from './switches.ts'
import { chosenRows } from './view.ts'

export type Switchboard = {
  readonly now: () => Switches
  /** All of them or none. Throws a RangeError for a name or value that no switch has. */
  readonly set: (given: Partial<Switches>) => void
  readonly onSet: (listener: (names: readonly SwitchName[]) => void) => void
}

export function switchboard(given: Partial<Switches>): Switchboard {
  let switches = checked(switchesWith(given))
  const listeners: ((names: readonly SwitchName[]) => void)[] = []
  return {
    now: () => switches,
    set(changes) {
      switches = checked(switchesWith(changes, switches))
      for (const listener of listeners) listener(Object.keys(changes) as SwitchName[])
    },
    onSet: (listener) => {
      listeners.push(listener)
    },
  }
}

/** Throws a RangeError where a switch names a fault, a change or a kind of row that does not exist. */
function checked(switches: Switches): Switches {
  chosenKinds(switches['fault.kinds'])
  changeKinds(switches['move.kinds'])
  chosenRows(switches['misdated.of'])
  chosenRows(switches['late.of'])
  return switches
}

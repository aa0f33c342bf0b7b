#!/bin/sh
# Sees that the Node that npm has just brought runs here. It is linked against libatomic, which small images of Debian lack:
# root on Debian gets it installed, everybody else is told what to install. `npm ci` runs this script at its end, unless `node -e 0`
# works: Windows has no sh.
set -u

runs() { node --version > /dev/null 2>&1; }

runs && exit 0
case "$(node --version 2>&1)" in
  *libatomic*)
    if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
      { apt-get update && apt-get install -y --no-install-recommends libatomic1; } > /dev/null && runs && exit 0
    fi
    cure='install libatomic (Debian: apt-get install libatomic1; Fedora: dnf install libatomic), and run npm ci again'
    ;;
  *) cure='it needs Linux with glibc, macOS or Windows on a processor that Node supports' ;;
esac
echo "The Node of this project does not run here ($(node --version 2>&1)): $cure." >&2
exit 1

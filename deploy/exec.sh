#!/bin/sh
# Agents in containers and pods: in the place of ssh, with the command that starts a program in one.
#
#   UAPERF_SSH='sh deploy/exec.sh kubectl -n lab exec -i' uaperf fleet check ssh:uaperf-agent-0
#   UAPERF_SSH='sh deploy/exec.sh podman exec -i' uaperf fleet check ssh:agent1
#
# uaperf adds `-T -o … -- NAME PROGRAM WORDS…`, as ssh wants it.
command=
while [ $# -gt 0 ] && [ "$1" != -T ]; do
  command="$command $1"
  shift
done
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  shift
done
if [ -z "$command" ] || [ $# -lt 3 ]; then
  echo "exec.sh: want the command that starts a program there, such as: sh exec.sh podman exec -i" >&2
  exit 2
fi
shift
name=$1
shift
case $command in
  *kubectl*) exec $command "$name" -- "$@" ;;
  *) exec $command "$name" "$@" ;;
esac

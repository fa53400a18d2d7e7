# docker build -t gclint . && docker run --rm -v "$PWD:/project:ro" gclint
FROM python:3.13-slim AS built
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY gclint gclint
COPY rules rules
COPY fixtures fixtures
RUN python -m venv /gclint && /gclint/bin/pip install --no-cache-dir .

FROM python:3.13-slim
COPY --from=built /gclint /gclint
ENV PATH=/gclint/bin:$PATH PYTHONDONTWRITEBYTECODE=1
RUN useradd --create-home gclint
USER gclint
WORKDIR /project
ENTRYPOINT ["gclint"]
CMD ["check", "--no-cache", "."]
